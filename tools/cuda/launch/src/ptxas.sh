#!/bin/sh
# Stands in for NVIDIA's assembler: its output is the PTX that it is given. `ptxas [OPTIONS] -o OUTPUT INPUT`
output=elf.o
input=
while [ $# -gt 0 ]; do
    case $1 in
        --version | -V)
            echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
            echo "Cuda compilation tools, release 13.0, V13.0.0 (Counterpoint: hands PTX through)"
            exit 0
            ;;
        -o | --output-file)
            output=$2
            shift
            ;;
        -*) ;;
        *) input=$1 ;;
    esac
    shift
done
if [ -z "$input" ]; then
    echo "ptxas: no input file" >&2
    exit 1
fi
exec cp -- "$input" "$output"
