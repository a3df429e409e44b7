from graphgauge.cli import main

main()
