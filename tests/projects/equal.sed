# What only tells when, where or in which process something happened is made equal, before what two VMs print is compared.
s/ \[jit\(:ns\)\{0,1\}\]//
s/\x1b\[[0-9;]*[mGK]//g
s/\r$//
s/[0-9][0-9.]* \{0,1\}\(ms\|s\|seconds\|m\)\>/TIME/g
s/[0-9]\{1,\}m \{0,1\}TIME/TIME/g
s/([0-9.]* *TIME) *$/(TIME)/
s/[0-9]\{4\}-[0-9][0-9]-[0-9][0-9][ T_]*[0-9][0-9][:.][0-9][0-9][:.][0-9][0-9]\(\.[0-9]*\)\{0,1\}/DATE/g
s/\<[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\(\.[0-9]*\)\{0,1\}/CLOCK/g
s/<0\.[0-9]*\.[0-9]*>/PID/g
s/#Reference<[0-9.]*>/REF/g
s/#Ref<[0-9.]*>/REF/g
