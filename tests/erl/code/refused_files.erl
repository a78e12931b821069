%% What the loader and the code server report of files that are refused.
-module(refused_files).
-export([main/0, log/2]).

main() ->
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => #{to => self()}}),
    ok = logger:remove_handler(default),
    {refused_files, Good, _} = code:get_object_code(refused_files),
    {lists, Other, _} = code:get_object_code(lists),
    Renamed = [{Chunk, binary:replace(Good, Chunk, <<"XXXX">>)} || Chunk <- [<<"AtU8">>, <<"Code">>, <<"ImpT">>, <<"ExpT">>]],
    Damaged = [{{Chunk, At}, set(Good, Chunk, At)} || {Chunk, At} <- [{<<"AtU8">>, 8}, {<<"ImpT">>, 14}, {<<"ImpT">>, 8}, {<<"ExpT">>, 14}, {<<"ExpT">>, 8}, {<<"FunT">>, 8}]],
    Files = [{cut, binary:part(Good, 0, byte_size(Good) - 100)}, {empty, <<>>}, {text, <<"no module">>}, {other, Other}] ++ Renamed ++ Damaged,
    lists:foreach(fun({Name, Bytes}) -> t:p(io_lib:format("~0p", [Name]), {code:load_binary(absent_module, "absent.beam", Bytes), reports(2)}) end, Files),
    t:p(prepared, {erlang:prepare_loading(absent_module, <<"no">>), reports(1)}).

set(Good, Chunk, Offset) ->
    {Start, _} = binary:match(Good, Chunk),
    At = Start + Offset,
    <<Before:At/binary, _, After/binary>> = Good,
    <<Before/binary, 255, After/binary>>.

log(#{level := Level, msg := {Format, Args}}, #{config := #{to := To}}) -> To ! {report, Level, lists:flatten(io_lib:format(Format, Args))}.

%% So many reports; the emulator's and the code server's come in any order.
reports(Count) -> lists:sort([receive {report, Level, Text} -> {Level, Text} after 5000 -> none end || _ <- lists:seq(1, Count)]).
