# rebar3 projects from nothing, without a network, on the VM whose `erl` and `escript` are first in PATH.
files=$PROJECTS/rebar3
export REBAR_COLOR=none
step() { echo "== $*"; "$@" 2>&1; echo "status $?"; }

step rebar3 version
step rebar3 new escript name=stack
cd stack || exit 1
step rebar3 escriptize
step _build/default/bin/stack a b
# Times of files are compared in whole seconds.
sleep 1.1
cp "$files"/src/stack.erl src/stack.erl
mkdir test
cp "$files"/test/* test/
step rebar3 compile
step rebar3 compile
step rebar3 escriptize
step _build/default/bin/stack one two three
step rebar3 eunit --cover
step rebar3 cover --verbose
step rebar3 ct
step rebar3 ct --suite test/stack_SUITE --case passes
step rebar3 xref
step rebar3 tree
sleep 1.1
echo 'f(X) -> Y.' >>src/stack.erl
step rebar3 compile
cd .. || exit 1
step rebar3 new release name=served
cd served || exit 1
step rebar3 release
step rebar3 as prod tar
