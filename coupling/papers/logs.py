"""The public logs that the papers need."""

from coupling.papers.paper import Log

_ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
THUNDER = Log("LLNL-Thunder-2007-1.1-cln.swf.gz", f"{_ARCHIVE}/l_llnl_thunder/")
ATLAS = Log("LLNL-Atlas-2006-2.1-cln.swf.gz", f"{_ARCHIVE}/l_llnl_atlas/")
BLUE = Log("SDSC-BLUE-2000-4.2-cln.swf.gz", f"{_ARCHIVE}/l_sdsc_blue/")
_IITK = "https://github.com/gaganmangat/MTech-Thesis (JobLogs, as comma-separated tables)"
INTREPID = Log("intrepid.csv", _IITK)
THETA = Log("theta.csv", _IITK)
MIRA = Log("mira.csv", _IITK)
