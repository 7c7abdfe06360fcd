"""The `memhop` command: the only code that sees arguments, the environment and the terminal.

main      entry point: streams made safe, the command line built and run
commands  one function per command; what a command needs is imported inside it
recall_view, repair_view  how a recall and a repair are shown
output    rich on a terminal, plain text in a pipe, JSON on request
exit_codes  what an error means to a shell
demo      `memhop demo`: demo_data (the conversation), demo_writer (the process that is killed), demo_run (what is
          measured), demo_report (how it is told)
"""
