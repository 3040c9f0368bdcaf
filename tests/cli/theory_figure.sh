# The figures as CSV (rounded) and as SVG.
round() {
    awk -F, 'NR == 1 { print; next } { printf "%s,%s,%s,%.6f\n", $1, $2, $3, $4 }'
}
run theory --figure example-2 -o e2.csv
round <e2.csv | sed -n '1,3p;22,24p;$p'
wc -l <e2.csv
run theory --figure example-3 -o e3.csv
round <e3.csv | grep ',5,5,\|,5,0,\|,0,5,'
run theory --figure f-curve -o f.csv
grep -c . f.csv
for name in f-curve example-2 example-3; do
    run theory --figure $name -o $name.svg --quiet
    head -c 4 $name.svg
    echo
    tail -c 7 $name.svg
done
run theory --figure example-3 -K 10 -p 0.95 --sigma 0.01 -o k10.svg --json
# refused
run theory --figure example-4 -o x.svg
run theory --figure example-2
run theory --figure example-2 -o x.png
run theory --figure example-2 -p 1.1 -o x.svg
run theory --figure example-2 --model 2,3 -o x.svg
run theory --figure example-2 -o no/such/folder/x.svg
ls
