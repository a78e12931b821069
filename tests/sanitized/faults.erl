%% Has a library do something wrong: its name is the argument (run).
-module(faults).
-export([main/1, fault/2]).

fault(_, _) -> erlang:nif_error(not_loaded).

main([Name]) ->
    ok = erlang:load_nif("./faults", 0),
    fault(list_to_atom(Name), binary:copy(<<"x">>, 200)),
    halt(0).
