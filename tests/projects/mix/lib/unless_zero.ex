defmodule UnlessZero do
  @moduledoc "Macros: hygiene, generated functions, a before-compile hook."

  defmacro unless_zero(value, do: block) do
    quote do
      result = unquote(value)
      if result != 0, do: unquote(block), else: :zero
    end
  end

  defmacro __using__(names) do
    quote bind_quoted: [names: names] do
      import UnlessZero
      @before_compile UnlessZero
      for {name, value} <- names do
        def unquote(name)(), do: unquote(value)
      end
    end
  end

  defmacro __before_compile__(env) do
    count = length(Module.definitions_in(env.module))
    quote(do: def(defined, do: unquote(count)))
  end
end

defmodule Colours do
  use UnlessZero, red: 0xFF0000, blue: 0x0000FF

  def inverse(n) do
    result = :kept
    {unless_zero(n, do: 1 / n), result}
  end
end
