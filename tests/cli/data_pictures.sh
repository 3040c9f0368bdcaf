# Sets of pictures: their classes, maps of the ImageNet family, previews.
# shellcheck disable=SC2154
pictures=$here/../data/images
put() { # put FILE...: a picture under each name
    for file; do
        mkdir -p "$(dirname "$file")"
        cp "$pictures/420.jpg" "$file"
    done
}
put food/apple_pie/1.jpg food/apple_pie/2.JPG food/T-bone_steak/1.jpg food/ice_cream/in/1.jpeg
cp "$pictures/rgb8.png" food/ice_cream/p.png
cp "$pictures/lossy_alpha.webp" food/ice_cream/w.webp
touch food/ice_cream/notes.txt food/README

run data classes food
run data classes food -o classes.txt
show classes.txt
run data classes food --json
printf 'path,label\r\nfood/apple_pie/1.jpg,"pie, apple"\r\nfood/ice_cream/p.png,ice_cream\r\n' >list.csv
run data classes list.csv
run data preview food list.csv -o sheet.png --json
run data preview food/apple_pie -o flat.png --json

put val/n00000001/1.jpg val/n00000002/1.jpg val/n00000003/1.jpg
put a/n00000002/1.jpg a/n00000003/1.jpg a/n00000003/2.jpg
run data classes val
run data map imagenet-a --classes val --data a -o a.json
show a.json
run data classes val -o val.txt --quiet
run data map imagenet-a --classes val.txt --data a -o again.json --quiet
cmp a.json again.json && echo same
run data map imagenet-sketch --classes val --data a -o sketch.json --json
show sketch.json
put v2/0/1.jpg v2/1/1.jpg v2/2/1.jpg
run data map imagenet-v2 --classes val --data v2 -o v2.json
put renamed/n00000001/1.jpg renamed/n00000003/1.jpg
run data map imagenet-v2 --classes val --data renamed -o renamed.json
show renamed.json
put renamed/7/1.jpg
run data map imagenet-v2 --classes val --data renamed -o renamed.json
put objectnet/tie/1.png objectnet/alarm_clock/1.png objectnet/box/1.png
mkdir mappings
printf '{"tie": "Tie", "box": "Box", "alarm_clock": "Alarm clock"}' >mappings/folder_to_objectnet_label.json
printf '{"Alarm clock": "analog clock; digital clock", "Tie": "bow tie, bowtie"}' >mappings/objectnet_to_imagenet_1k.json
printf 'bow tie, bowtie\ndigital clock\nanalog clock\n' >mappings/imagenet_to_label_2012_v2
printf '{"0": 2, "1": 0, "2": 1}' >mappings/pytorch_to_imagenet_2012_id.json
run data map objectnet --classes val --data objectnet --mappings mappings -o objectnet.json
show objectnet.json

# refused
run data classes
run data classes food val
run data classes nowhere/x
run data classes food/apple_pie/1.jpg
mkdir food/empty
run data classes food
rmdir food/empty
printf 'path,label\nfood/none.jpg,a\nfood/apple_pie/1.jpg\n' >bad.csv
run data classes bad.csv
run data map
run data map imagenet-c --mappings mappings
run data map imagenet-a --classes val --data a --mappings mappings -o map.txt
run data map objectnet --classes val --data objectnet -o x.json
run data map imagenet-a --classes a --data val -o x.json
run data map imagenet-r --classes val --data food -o x.json
printf 'no picture' >food/apple_pie/0.jpg
run data preview food -o x.png
run data classes --help
run data map --help
ls
