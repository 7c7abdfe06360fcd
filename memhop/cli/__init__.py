"""The `memhop` command: the only code that sees arguments, the environment and the terminal.

main      entry point: streams made safe, the commands by name, each made when it is asked for
root      what stands before a command: options that hold for any of them, and the settings
configuration  settings and those options as defaults of a command; the chat model and its key
arguments  options that several commands share, and how what was typed becomes values
call      one call of the API as a command: open, ask, close, show; ids by their first digits
memory    a memory opened for one command: shared, or as it was
output    rich on a terminal, plain text in a pipe, JSON on request; hints in terms of the command line
groups    groups of commands, each alike
exit_codes  what an error means to a shell

One function per command; what it needs is imported inside it:

commands  remember, recall, explain, stats; recall_view shows what was found
asking    show, why-not, usage
notes     list, edit, archive, restore, links, history, …
erase     forget, purge
briefs    brief, summary, maintain; projects for the projects
turns     search, update
messages, scenes, topics, knowledge, facts, profile, capability (and crystallize), trajectory    the layers
dreaming  dream, dreams
filling   pending, backfill
transfer  export, import, imports
past      at WHEN: recall, explain and stats, on the memory as it was
upkeep    verify, repair, compact; repair_view shows what was saved and lost
backup    make, list, verify, restore
models    list, install, remove
doctor    what is wrong, and what to do about it
config    show, check, path; completion for shells; instructions for agents
demo      demo_data (the conversation), demo_writer (the process that is killed), demo_run (what is measured),
          demo_report (how it is told)
"""
