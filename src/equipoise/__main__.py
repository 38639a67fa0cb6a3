from equipoise.cli import main

main()
