# What the command says about itself, and how it refuses.
run --help
run --version
run
run nonsense
run theory --nonsense
