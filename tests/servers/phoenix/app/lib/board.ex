defmodule Board.Application do
  use Application

  def start(_type, _args) do
    children = [{Phoenix.PubSub, name: Board.PubSub}, Board.Notes, Board.OnBandit, Board.OnCowboy]
    Supervisor.start_link(children, strategy: :one_for_one)
  end
end

defmodule Board.Notes do
  @moduledoc "Notes in a database of SQLite, by one process."
  use GenServer
  alias Exqlite.Sqlite3

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)
  def add(author, text), do: GenServer.call(__MODULE__, {:add, author, text})
  def all(author), do: GenServer.call(__MODULE__, {:all, author})
  def query(sql), do: GenServer.call(__MODULE__, {:query, sql})

  @impl true
  def init(nil) do
    {:ok, db} = Sqlite3.open(Application.fetch_env!(:board, :database))
    :ok = Sqlite3.execute(db, "create table if not exists notes (id integer primary key, author text, text text)")
    {:ok, db}
  end

  @impl true
  def handle_call({:add, author, text}, _from, db) do
    {:reply, rows(db, "insert into notes (author, text) values (?1, ?2) returning id", [author, text]), db}
  end

  def handle_call({:all, author}, _from, db) do
    {:reply, rows(db, "select id, text from notes where author = ?1 order by id", [author]), db}
  end

  def handle_call({:query, sql}, _from, db), do: {:reply, rows(db, sql, []), db}

  defp rows(db, sql, values) do
    with {:ok, statement} <- Sqlite3.prepare(db, sql),
         :ok <- Sqlite3.bind(db, statement, values) do
      {:ok, rows} = Sqlite3.fetch_all(db, statement)
      :ok = Sqlite3.release(db, statement)
      {:ok, rows}
    end
  end
end

defmodule Board.Native do
  @moduledoc "Functions in Rust: ../native."
  @on_load :load

  def load, do: :erlang.load_nif(:filename.join(:code.priv_dir(:board), "libboard"), 0)

  @doc "How often each word is there."
  def words(_text), do: :erlang.nif_error(:not_loaded)
  @doc "The primes below a number, on a dirty scheduler."
  def primes(_below), do: :erlang.nif_error(:not_loaded)
  @doc "A sum that is kept in an object of the library."
  def counter, do: :erlang.nif_error(:not_loaded)
  def add(_counter, _number), do: :erlang.nif_error(:not_loaded)
  @doc "The text in capitals, in a message from a thread of the library."
  def shout(_text), do: :erlang.nif_error(:not_loaded)
  @doc "Fails in Rust: raised as an exception, the VM goes on."
  def fail(_how), do: :erlang.nif_error(:not_loaded)
end
