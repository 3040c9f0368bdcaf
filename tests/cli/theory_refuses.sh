# Impossible input: one line each, exit 2, nothing computed.
run theory -p 0.9
run theory --model 2,3
run theory -p 1.5 -K 1 --model 2,3
run theory -p nan --model 2,3
run theory -p -0.1 --model 2,3
run theory -p 0.9 -K 3.5 --model 2,3
run theory -p 0.9 -K 99999999999999999999 --model 2,3
run theory -p 0.9 -K 10000001 --model 2,3
run theory -p 0.9 --model 2
run theory -p 0.9 --model 2,-3
run theory -p 0.9 --model 2,3 --model 1,99999999999
run theory -p 0.9 --model v0,0,s1
run theory -p 0.9 --model v0-3,s5,4-6
run theory -p 0.9 --model v0 --model 2,3
run theory -p 0.9 --model 2,3 --model 2,3 --overlap 3,0
run theory -p 0.9 --model 2,3 --model 2,3 --overlap -1,0
run theory -p 0.9 --model 2,3 --overlap 1,1
run theory -p 0.9 --model v0,s0 --model v0,s1 --overlap 1,0
run theory -p 0.9 --model 2,3 --model 2,3 --overlap 1
run theory -p 0.9 --model 2,3 --model 2,3 --weights 1
run theory -p 0.9 --model 2,3 --model 2,3 --weights 1,x
run theory -p 0.9 --model 2,3 --alpha 0.5
run theory -p 0.9 --model 2,3 --model 2,3 --alpha 0.5 --weights 1,1
run theory -p 0.9 --model 2,3 --scale 2
run theory -p 0.9 --model 2,3 --sigma -1
run theory -p 0.9 --model 2,3 --method magic
run theory -p 0.9 --model 2,3 --method lattice -K 5
run theory -p 0.9 --model 2,3 --samples -5
run theory -p 0.9 --model 2,3 --threads -1
run theory -p 0.9 --modle 2,3
run theory -p 0.9 --model
run theory -p 0.9 --model 2,3 --json=yes
run theory -p 0.9 --model 2,3 extra
run theory -p 0.9 --model 5,5000 --polynomial
run theory -p 0.9 --model 5,50 --polynomial --sigma 0.1
run theory -p 0.9 --model 5,1000000 --failure
run theory -p 0.9 --model 2,3 -o out.svg
# everything wrong is said at once
run theory -p 2 -K 0 --sigma nan --model x --model 1,2,3 --alpha q
ls
run theory -p .5 --model 1,1 --sweep alpha=0:1:.5
run theory -p .5 --model 1,1 --model 1,1 --model 1,1 --sweep scale=0:1:.5
