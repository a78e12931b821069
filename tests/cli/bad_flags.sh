# What a flag that makes no sense gets: the first line of what is printed, and the status; and flags that do make sense.
check() { "$ERL" -noshell -boot no_dot_erlang "$@" -eval 'halt(7).' </dev/null >out 2>&1; echo "$? $*: $(head -n 1 out | sed 's:^.*/[a-z.]* unknown:unknown:' | tr -d '\r')"; }
for flags in "+S abc" "+S 1:2" "+S 2000" "+SP abc" "+SDcpu abc" "+SDcpu 3:5" "+SDio 0" "+SDio 1025" "+SDio x" "+P 1" "+P abc" "+P 134217728" \
    "+Q 1" "+Q abc" "+t 1" "+t abc" "+t 2147483648" "+hms abc" "+hms 2147483648" "+hmbs 0" "+hmbs 4294967295" "+hmax -1" "+hmax 576460752303423488" "+hmaxk abc" "+hmaxel x" "+hmqd abc" "+hpds 0" "+hxx 1" "+xyz" \
    "+A 1025" "+a 1" "+C abc" "+fnx" "+fnux" "+T 10" "+sbt abc" "+stbt x" "+sbwt x" "+sbwtdcpu x" "+sbwtdio x" "+scl x" "+spp x" "+sub x" \
    "+swct x" "+sws x" "+swt x" "+swtdcpu x" "+swtdio x" "+sss 1" "+sssdcpu x" "+sxx" "+zdbbl abc" "+zdntgc x" "+zebwt x" "+zosrl x" "+zxx" \
    "+MBas abc" "+MBlmbcs x" "+MBXX 1" "+IOp 0" "+IOt 0" "+IOPp 500" "+IOPt 300" "+IOs 5" "+JXX" "+JPperf abc" "+JDdump x" "+pc abc" \
    "+R 99" "+rg abc" "+n x" "+W x" "+D" \
    "+sct X" "+sct L" "+sct L0c" "+sct L0,c0" "+sct L-1c0" "+sct L0-c0" "+sct L70000c0" "+sct L0-1c0-1,2" "+sct L0-3c0-3p0-1" "+sct L0-7c0-3t0-1" \
    "+sct L0-1c0-1t" "+sct c0-1L0-1" "+sct :L0c0" "+sct L0c0::L1c1" "+sct L0c0:L0c1" "+sct L0-1" "+sct L0-1n0-1" "+sct L0-1c0-1p0N0:L2c0" "+sct L0c0x"; do
    check $flags
done
check +P
check +sbt
for flags in "+S 0:1" "+S :1" "+S 3" "+S -1" "+SP 200" "+SP 0" "+SDcpu 1:1" "+SDPcpu 50:50" "+P 1024" "+t 20000" "+hmax 0" "+A 0" "+a 16" \
    "+c" "+c true" "+C multi_time_warp" "+fnuw" "+T 3" "+sct L0-1c0-1" "+sct L1-0c0-1:" "+sct L0,1T0-1C0P0N0" "+sbt db" "+stbt ns" "+sbwt none" "+scl false" "+swt low" "+sws legacy" "+zdbbl 5000" "+zebwt none" \
    "+MBas gf" "+Mea min" "+MMscs 100" "+MHlmbcs 5000" "+IOp 1" "+IOPp 50" "+IOs true" "+JPperf true" "+pc unicode" "+R 24" "+rg 5" "+n s" "+e 1000" "+K true" "+d" "+r" "+L"; do
    check $flags
done
amounts() { "$ERL" -noshell -boot no_dot_erlang "$@" -eval 'All = erlang:system_info(logical_processors_available), io:format("~p~n", [[case erlang:system_info(I) of All -> all; N -> N end || I <- [schedulers, dirty_cpu_schedulers, dirty_io_schedulers]]]), halt().' </dev/null; }
amounts +S 1
amounts +S 0
amounts +SDcpu 1:1
amounts +SDcpu 500
amounts +SDio 3
sizes() { "$ERL" -noshell -boot no_dot_erlang "$@" -eval 'io:format("~0p~n", [[erlang:system_info(I) || I <- [min_heap_size, min_bin_vheap_size, max_heap_size]]]), halt().' </dev/null; }
sizes +hms 1 +hmbs 1
sizes +hms 300 +hmbs 100000 +hmax 576460752303423487
