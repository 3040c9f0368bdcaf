# CSV over one quantity; numbers rounded, their last digits belong to libm.
round() {
    awk -F, '{
        for (i = 1; i <= NF; i++)
            printf "%s%s", (i == 1 ? "" : ","), ($i ~ /^[0-9.e+-]+$/ ? sprintf("%.8g", $i) : $i)
        print ""
    }'
}
run theory --model 2,3 --model 2,3 --overlap 1,1 --sweep p=0:1:0.25 | round
run theory -p 0.9 --model 2,3 --model 2,3 --sweep K=2:4:1 --json | cut -c1-60
run theory -p 0.9 --model 5,20 --model 0,0 --sweep ns2=0:3:1 | round
run theory -p 0.9 --model 2,3 --model 2,3 --sweep nvo=0:2:1 -o sweep.csv
round <sweep.csv
run theory -p 0.9 --model 2,4 --model 1,6 --sweep alpha=0:1:0.5 | round
run theory -p 0.9 --model 2,3 --model 2,3 --sweep scale=1:3:1 | round
run theory -p 0.9 --model 2,3 --sweep sigma=0:0.2:0.1 | round
# refused
run theory --model 2,3 --sweep p=0:1.2:0.1
run theory --model 2,3 --sweep p=1:0:0.1
run theory --model 2,3 --sweep p=0:1:0
run theory --model 2,3 --sweep p=0:1
run theory --model 2,3 --sweep q=0:1:0.1
run theory -p 0.9 --model 2,3 --sweep ns2=0:3:1
run theory -p 0.9 --model v0,s0 --sweep nv1=0:3:1
run theory -p 0.9 --model 2,3 --model 2,3 --sweep nso=0:9:1
run theory -p 0.9 --model 2,3 --model 2,3 --sweep nso=0:3:0.5
run theory --model 2,3 --sweep K=2:4:1
run theory -p 0.9 --model 2,3 --sweep sigma=0:1:0.5 --best
ls
