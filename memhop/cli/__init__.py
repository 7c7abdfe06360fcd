"""The `memhop` command: the only code that sees arguments, the environment and the terminal.

main      entry point: streams made safe, the command line built and run
arguments  options that several commands share, and how what was typed becomes values
memory     a memory opened for one command: shared, or as it was
output     rich on a terminal, plain text in a pipe, JSON on request; hints in terms of the command line
exit_codes  what an error means to a shell

One function per command; what it needs is imported inside it:

commands   remember, recall, stats; recall_view shows what was found
past       at WHEN: recall and stats, on the memory as it was
erase      forget, purge
upkeep     verify, repair, compact; repair_view shows what was saved and lost
backup     make, list, verify, restore
doctor     what is wrong, and what to do about it
demo       demo_data (the conversation), demo_writer (the process that is killed), demo_run (what is measured),
           demo_report (how it is told)
"""
