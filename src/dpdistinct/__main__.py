"""python -m dpdistinct"""

from dpdistinct.cli import main

main()
