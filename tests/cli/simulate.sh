# Simulations: reproducible, whatever the number of threads.
run simulate --example 1-1 --runs 50
run simulate --example 1-1 --runs 50 --threads 1 --json >one.json
run simulate --example 1-1 --runs 50 --threads 3 --json >three.json
sed 1d one.json >a
sed 1d three.json >b
cmp a b && echo same
run simulate --example 2-2 --runs 20 --seed 5
run simulate -K 4 -p 0.8 --model 2,3 --model 1,4 --model 2,2 --runs 20 --train 500 --test 500 --sigma 0.1
run simulate -p 0.9 --model 2,3 --runs 1 --fit population --draw sample --sigma 0
run simulate -p 0.9 --model 2,3 --model 2,3 --runs 5 --train 300 --test 300 --fit logistic
run simulate -K 4 -p 0.9 --runs 60 --train 150 --test 50 --fit logistic --model v0,s0,2,3 --model v0,s4,3 --model s4,v0
run simulate -p 0.9 --model 1,1 --model 1,1 --runs 5 --train 100 --test 100 --full --dimension 20
# refused
run simulate
run simulate --example 3-1
run simulate --example 1-1 --model 2,3
run simulate --example 1-1 --runs 0 --train 0 --test 0 --fit magic --draw cards
run simulate -p 0.9 --model 2,3 --dimension 3
run simulate -p 0.9 --model 2,3 --ridge 0 --fit logistic
run simulate -K 10000 -p 0.9 --model 5,20 --model 5,20 --runs 1
# with heads that were fitted, theory of equal ones stays beside that of theirs
bang simulate -K 4 -p 0.9 --runs 20 --train 150 --test 50 --fit logistic --model v0,s0,2,3 --model v0,s4,3 --json >fitted
bang simulate -K 4 -p 0.9 --runs 20 --train 150 --test 50 --fit mean --model v0,s0,2,3 --model v0,s4,3 --json >equal
for file in fitted equal; do grep -o '"theory":{[^}]*}' $file; done | uniq -c | sed 's/^ *\([0-9]*\) .*/\1 times the same theory/'
grep -c theory_fitted fitted equal
