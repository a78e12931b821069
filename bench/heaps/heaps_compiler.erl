%% A stand-in for the BEAM compiler at work on a large module: mostly sequential, with processes for input and output only.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 and table 1 (6 processes, 2,481 messages). The paper compiles `gstk_generic.erl`
%% of R8, which no later release has. Here OTP's compiler of today compiles a module of as many lines as are asked for, and does so by
%% itself, in one of the six processes: a device has the lines and gives them one by one; a reader asks for them and makes forms; the
%% compiler makes code; a writer keeps it; a lister keeps what stands in the listing, a line for each function; a clerk is told by writer
%% and lister, and tells the caller. That is 2 messages for each line and at the end, 1 for each function, and 7 more.
-module(heaps_compiler).
-export([run/1]).

%% Arguments: FUNCTIONS, COMMENTS. So many functions, of 12 lines each, behind two lines of attributes, and so many lines of comments.
run([Functions, Comments]) ->
    Caller = self(),
    Clerk = spawn_link(fun() -> clerk(Caller) end),
    Writer = spawn_link(fun() -> receive {code, Code} -> Clerk ! {written, Code} end end),
    Lister = spawn_link(fun() -> lister(Clerk, 0) end),
    Compiler = spawn_link(fun() -> compiler(Writer) end),
    Device = spawn_link(fun() -> device(text(Functions, Comments)) end),
    spawn_link(fun() -> reader(Device, Compiler, Lister, 0) end),
    Listed = receive {listed, Functions} -> Functions end,
    {Code, Lines} = receive {done, Made, All} -> {Made, All} end,
    {ok, {heaps_compiled, [{exports, Exports}]}} = beam_lib:chunks(Code, [exports]),
    {6, 2 * Lines + Listed + 7, length(Exports)}.

text(Functions, Comments) ->
    ["-module(heaps_compiled).\n", "-compile(export_all).\n"] ++ lists:duplicate(Comments, "%% Nothing.\n")
        ++ lists:append([function(integer_to_list(I), integer_to_list(I rem Functions + 1)) || I <- lists:seq(1, Functions)]).

function(I, Next) ->
    [["f", I, "(0) -> ", I, ";\n"],
     ["f", I, "(N) when is_integer(N), N > 0 ->\n"],
     ["    Tuple = {N, N band ", I, ", [N, N * ", I, " | [a, \"text ", I, "\"]]},\n"],
     "    {A, B, [C, D | _]} = Tuple,\n",
     "    Map = #{first => A, second => {B, C}, D => third},\n",
     "    Sum = lists:foldl(fun(X, Y) -> (X * 3 + Y) rem 1000003 end, N, [E + A || E <- [B, C, D], E > 1]),\n",
     "    case Map of\n",
     ["        #{first := F} when F rem 7 =:= 3 -> Sum + f", Next, "(N - 1);\n"],
     "        #{second := {_, S}} when S > 5 ->\n",
     ["            try Sum bxor f", Next, "(N - 1) catch error:_ -> <<X:16, _/bits>> = <<Sum:32>>, X end;\n"],
     ["        _ -> Sum - f", Next, "(N - 1)\n"],
     "    end.\n"].

device(Lines) ->
    receive
        {line, From} ->
            case Lines of
                [Line | Rest] -> From ! {text, Line}, device(Rest);
                [] -> From ! nothing
            end
    end.

reader(Device, Compiler, Lister, Lines) ->
    {Forms, All} = forms(Device, Lister, [], Lines, []),
    Lister ! {lines, All},
    Compiler ! {forms, Forms}.

%% Lines are scanned until a form ends; a question for each line, and the one at the end.
forms(Device, Lister, Tokens, Lines, Forms) ->
    Device ! {line, self()},
    receive
        nothing -> {lists:reverse(Forms), Lines + 1};
        {text, Line} ->
            {ok, More, _} = erl_scan:string(lists:flatten(Line), Lines + 1),
            All = Tokens ++ More,
            case All =/= [] andalso lists:last(All) of
                {dot, _} ->
                    {ok, Form} = erl_parse:parse_form(All),
                    element(1, Form) =:= function andalso (Lister ! {function, element(3, Form), Lines}),
                    forms(Device, Lister, [], Lines + 1, [Form | Forms]);
                _ ->
                    forms(Device, Lister, All, Lines + 1, Forms)
            end
    end.

compiler(Writer) ->
    receive {forms, Forms} -> ok end,
    {ok, heaps_compiled, Code} = compile:noenv_forms(Forms, [binary, nowarn_export_all, no_spawn_compiler_process]),
    Writer ! {code, Code}.

lister(Clerk, Listed) ->
    receive
        {function, _, _} -> lister(Clerk, Listed + 1);
        {lines, Lines} -> Clerk ! {listed, Listed, Lines}
    end.

clerk(Caller) ->
    Lines = receive {listed, Listed, All} -> Caller ! {listed, Listed}, All end,
    receive {written, Code} -> Caller ! {done, Code, Lines} end.
