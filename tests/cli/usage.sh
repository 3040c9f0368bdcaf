# What the command says about itself, and how it refuses.
run --help
run --version
run
run nonsense
run theory --nonsense
# what does not arrive is a failure
bang theory -p 0.9 --model 2,3 >/dev/full || echo "exit $?"
bang theory -p 0.9 --model 2,3 --json >/dev/full || echo "exit $?"
bang theory --model 2,3 --sweep p=0:1:0.1 >/dev/full || echo "exit $?"
