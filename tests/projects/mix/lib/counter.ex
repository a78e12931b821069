defmodule Counter do
  @moduledoc "A GenServer that is found in a Registry, restarted by a Supervisor."
  use GenServer
  require Logger

  def start_link(name), do: GenServer.start_link(__MODULE__, 0, name: via(name))
  def add(name, n), do: GenServer.call(via(name), {:add, n})
  def crash(name), do: GenServer.cast(via(name), :crash)
  def via(name), do: {:via, Registry, {Counter.Registry, name}}

  def child_spec(name), do: %{id: name, start: {__MODULE__, :start_link, [name]}}

  @impl true
  def init(n), do: {:ok, n}

  @impl true
  def handle_call({:add, n}, _from, sum) do
    Logger.info("adding #{n} to #{sum}")
    {:reply, sum + n, sum + n}
  end

  @impl true
  def handle_cast(:crash, sum), do: {:stop, {:shutdown, sum}, sum}
end
