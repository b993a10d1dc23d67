"""Columns of the arrays that `pool` owns and the kernels of the fast model work on."""

# rec_i, rec_f: a row per record; the rows of a job are contiguous, those of channels where it
# can be held up (active) first, then those of other shared channels
R_CHANNEL, R_FIRST, R_COUNT, R_LINK = range(4)
R_B, R_E, R_SLACK, R_INV_M, R_W, R_FRESH, R_N, R_R = range(8)
# rec_l: slot of the job, neighbours in the channel's list of records
L_SLOT, L_NEXT, L_PREV = range(3)
# ent: a row per (job, channel, step)
B, M, Q, G, END, TIME, WAIT, STEP = range(8)
# steps: a row per (job, step): tau, time among neighbours, link that takes it
S_TAU, S_TIME, S_LINK = range(3)
# job_i, job_f: a row per slot; J_SHARED counts the active records too
J_REC, J_NREC, J_ENT, J_NENT, J_STEP, J_NSTEP, J_ACTIVE, J_SHARED, J_WORST = range(9)
J_T, J_S, J_RATE, J_OMEGA, J_RESIDUAL, J_REPORTED = range(6)
# chan: totals, their values when its active jobs were last woken and when its records were
# last tested, number of jobs, first record
C_N, C_R, C_N_WOKEN, C_R_WOKEN, C_N_TESTED, C_R_TESTED, C_JOBS, C_HEAD = range(8)
