-module(stack_SUITE).
-include_lib("common_test/include/ct.hrl").
-compile([export_all, nowarn_export_all]).

all() -> [passes, {group, pairs}, fails, skipped].
groups() -> [{pairs, [parallel], [one, two]}].
init_per_suite(Config) -> [{made, stack:new()} | Config].
end_per_suite(_) -> ok.
init_per_testcase(skipped, _) -> {skip, "not today"};
init_per_testcase(_, Config) -> Config.
end_per_testcase(_, _) -> ok.

passes(Config) -> empty = stack:pop(?config(made, Config)).
one(Config) -> [1] = stack:to_list(stack:push(1, ?config(made, Config))).
two(_) -> ct:pal("from a case: ~w", [stack:to_list(stack:new())]).
fails(_) -> {x, _} = stack:pop(stack:push(y, stack:new())).
skipped(_) -> ct:fail("run all the same").
