# Predictions, for people and for scripts. Numbers of JSON are cut to ten digits:
# the last ones belong to the machine's libm.
digits() {
    awk '{
        out = ""
        while (match($0, /-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/)) {
            number = substr($0, RSTART, RLENGTH) + 0
            if (number < 1e-13 && number > -1e-13) number = 0
            out = out substr($0, 1, RSTART - 1) sprintf("%.10g", number)
            $0 = substr($0, RSTART + RLENGTH)
        }
        print out $0
    }'
}
run theory -K 3 -p 0.9 --model 2,3 --model 2,3 --overlap 1,1
run theory -K 3 -p 0.9 --model 2,3 --model 2,3 --overlap 1,1 --json | digits
run theory -p 0.9 --model 2,4 --model 1,6 --best --failure --polynomial
run theory -p 0.9 --model 2,4 --model 1,6 --best --failure --polynomial --json | digits
# index sets say what counts and overlap say
run theory -K 5 -p .8 --model v0-1,s0-2 --model v1,2,s2-4 --json | digits
run theory -K 5 -p .8 --model 2,3 --model 2,3 --overlap 1,1 --json | digits
# one model; three models; weights
run theory -K 10 -p 1 --model 3,8 --best --json | digits
run theory -K 10 -p 0.9 --model v0-1,s0-4 --model v1-2,s3-8 --model v0,2,s9-12 --weights 0.5,0.3,0.2
run theory -p 0.9 --model 2,3 --model 2,3 --alpha 0.3 --json | digits
run theory -p 0.9 --model 2,3 --model 2,3 '--weights=0.7,0.3' --json | digits
# scale: the thresholds are roots
run theory -p 0.9 --model 2,3 --model 2,3 --scale 'sqrt(2)' --polynomial
run theory -p 0.9 --model 2,3 --model 2,3 --scale 3 --polynomial
# degenerate cases have values
run theory -p 0 --model 1,3 --model 0,2 --json | digits
run theory -p 0.9 --model 2,0 --model 0,0 --json | digits
run theory -K 4 -p 1 --model 0,0 --model 0,3 --best --polynomial --json | digits
# noise
run theory -p 0.9 --model 2,3 --model 2,3 --overlap 1,1 --sigma 0.3
# large, and too large for anything but sampling
run theory -K 1000 -p 1 --model 30,100000
run theory -K 10 -p 1 --model v0,s0-59 --model v1,s60-129 --model v2,s130-209 --model v3,s210-299 --weights 0.31337,0.577215,0.6931471,1 --samples 20000 --seed 3
run theory -p 0.9 --model 2,3 --method monte-carlo --samples 10000 --threads 1
run theory -p 0.9 --model 2,3 --method monte-carlo --samples 10000 --threads 2
