# Commands for gdb on a Myriad VM, or on one that runs under it: gdb -x tools/gdb/myriad.gdb -p PID
#
# They call functions of the VM (crates/observe/src/debugger.rs), which print to its standard error. A core file cannot call.

# A fault that one of them may run into all the same leads back to where one was.
set unwindonsignal on
handle SIGPIPE nostop noprint pass

define term
    call ((void (*)(unsigned long)) myriad_print_term)((unsigned long) ($arg0))
end
document term
term WORD: the Erlang term of a word, such as $rax or *(unsigned long *) 0x7f0012345678.
end

define processes
    call ((void (*)(void)) myriad_print_processes)()
end
document processes
All processes, with their states and names.
end

define process
    call ((void (*)(unsigned long)) myriad_print_process)((unsigned long) ($arg0))
end
document process
process NUMBER: the process <0.NUMBER.0>, and the messages that it has taken.
end

define stack
    call ((void (*)(unsigned long)) myriad_print_stack)((unsigned long) ($arg0))
end
document stack
stack NUMBER: the Erlang stack of the process <0.NUMBER.0>.
end

define heap
    call ((void (*)(unsigned long)) myriad_print_heap)((unsigned long) ($arg0))
end
document heap
heap NUMBER: the bounds of the heap of the process <0.NUMBER.0>, and its objects by kind.
end
