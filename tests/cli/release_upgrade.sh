# A release that is upgraded to its second version while it runs, step by step, and taken back.
mkdir release && cd release || exit 1
mkdir lib releases
"$ERL" -noshell -pa "$TEST_EBIN" -s upgraded make
"$ERL" -noshell -boot releases/1/start -config releases/1/sys -pa "$TEST_EBIN" -sasl releases_dir "\"$PWD/releases\"" \
    -kernel logger_level error -s upgraded run 2>&1
echo "status $?"
