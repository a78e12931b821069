defmodule SampleMoreTest do
  use ExUnit.Case, async: true
  import ExUnit.CaptureIO
  import ExUnit.CaptureLog

  setup do
    start_supervised!({Registry, keys: :unique, name: Counter.Registry})
    start_supervised!({Counter, :one})
    :ok
  end

  test "protocols: struct, implementation from outside, fallback, derived" do
    assert Enum.map([%Square{side: 3}, %Circle{radius: 2}, :other], &Shape.area/1) == [9, 12.566, 0]
    assert inspect(%Square{side: 2}) == "#Square<side: 2, ...>"
    assert_raise ArgumentError, fn -> struct!(Circle, []) end
  end

  test "macros" do
    assert Colours.inverse(4) == {0.25, :kept}
    assert Colours.inverse(0) == {:zero, :kept}
    assert {Colours.red(), Colours.blue(), Colours.defined()} == {16_711_680, 255, 3}
  end

  test "a server in a registry under a supervisor" do
    log = capture_log(fn -> assert Counter.add(:one, 5) == 5 end)
    assert log =~ "[info] adding 5 to 0"
    # All of the log: what goes to the console stands anywhere among what the formatter, a process of its own, prints.
    assert capture_log(fn -> assert Counter.add(:one, 6) == 11 end) =~ "[info] adding 6 to 5"
    [{pid, _}] = Registry.lookup(Counter.Registry, :one)
    ref = Process.monitor(pid)
    Counter.crash(:one)
    assert_receive {:DOWN, ^ref, :process, ^pid, {:shutdown, 11}}
  end

  test "tasks" do
    squares = 1..50 |> Task.async_stream(&(&1 * &1), max_concurrency: 4) |> Enum.map(&elem(&1, 1))
    assert Enum.sum(squares) == 42925
    task = Task.async(fn -> receive(do: (:never -> :ok)) end)
    assert Task.yield(task, 10) == nil
    assert Task.shutdown(task, :brutal_kill) == nil
  end

  test "text, dates, streams, regular expressions" do
    assert String.upcase("straße, ǆ") == "STRASSE, Ǆ"
    assert String.graphemes("e\u0301a👨‍👩‍👧") == ["e\u0301", "a", "👨‍👩‍👧"]
    assert Regex.scan(~r/(?<k>\w)=(\d+)/u, "a=1,é=22") == [["a=1", "a", "1"], ["é=22", "é", "22"]]
    assert Date.add(~D[2024-02-28], 2) == ~D[2024-03-01]
    assert Stream.unfold({0, 1}, fn {a, b} -> {a, {b, a + b}} end) |> Enum.at(90) == 2_880_067_194_370_816_120
    assert capture_io(fn -> IO.inspect(%{b: [1.0e22, -0.1], a: {'abc', <<1::3>>}}) end) == "%{a: {'abc', <<1::size(3)>>}, b: [1.0e22, -0.1]}\n"
  end

  test "this one fails" do
    assert %{a: [1, 2], b: "left"} == %{a: [1, 3], b: "right"}
  end

  test "this one raises" do
    String.to_integer("12x")
  end

  test "this one exits" do
    GenServer.call(:nobody, :hello)
  end

  @tag :skip
  test "this one is skipped", do: flunk("run all the same")
end
