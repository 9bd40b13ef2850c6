import sys

from stairs.cli import main

sys.exit(main())
