# `iex` with its input from a pipe.
export TERM=dumb
cat >input <<'LINES'
x = 1 + 1
IO.puts("x is #{x}")
defmodule M do
  def double(a), do: a * 2
end |> elem(1)
M.double(21)
v(1)
1 / 0
undefined_function()
%{a: 1, "b" => [2.5, :c]}
for n <- 1..3, do: {n, n * n}
pid = spawn(fn -> receive(do: ({from, x} -> send(from, x * 2))) end)
send(pid, {self(), 21})
receive(do: (x -> x))
"unfinished
string"
h Enum.sum/1
i 42
receive do m -> m after 10 -> :nothing end
Process.get(:"$ancestors")
LINES
iex <input 2>&1; echo "status $?"
iex --dot-iex /dev/null -e 'IO.puts("first")' <<'LINES' 2>&1
IO.gets("name? ")
somebody
System.halt(7)
LINES
echo "status $?"
