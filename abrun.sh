. /tmp/loop/env.sh; cd /tmp/loop
python ab.py /tmp/loop/$1-s4k.toml $2 ${3:-/work/wt/prev} /work/wt/loop
