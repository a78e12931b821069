# A Mix project from nothing to its tests: what `elixir` and `mix` do on the VM whose `erl` is first in PATH.
files=$PROJECTS/mix
step() { echo "== $*"; "$@" 2>&1; echo "status $?"; }

step elixir --version
step elixir -e 'IO.inspect({System.otp_release(), Enum.sum(1..10), System.argv()})' a b
step elixir -e 'raise "on purpose"'
step mix new sample --sup
cd sample || exit 1
step mix test --seed 0
cp "$files"/lib/*.ex lib/
cp "$files"/test/*.exs test/
step mix compile --warnings-as-errors
step mix compile
echo 'IO.inspect(Shape.__protocol__(:impls), label: "implementations")' >impls.exs
step mix run impls.exs
step mix run -e 'require Logger; Logger.error("seen"); Logger.flush()'
# One case after the other, so that the order of what they print is fixed.
step mix test --seed 0 --max-cases 1 --trace
step mix test --seed 0 test/sample_more_test.exs:11
step mix format
step mix format --check-formatted
cp "$files/ugly.ex" lib/
step mix format --check-formatted
step mix format
step cat lib/ugly.ex
echo 'defmodule Broken do def f(x), do: y end' >lib/broken.ex
step mix compile
rm lib/broken.ex
echo 'defmodule Warns do def f(x), do: Nowhere.g(1) end' >lib/warns.ex
step mix compile
step mix help compile.elixir
step mix do clean, compile
echo 'defmodule Sample.CLI do def main(args), do: IO.inspect(args) end' >lib/cli.ex
sed -i 's/version: "0.1.0",/version: "0.1.0", escript: [main_module: Sample.CLI],/' mix.exs
step mix escript.build
step ./sample one two
