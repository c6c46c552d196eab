package node

import (
	"os"
	"strings"
)

// Args is how the node's process is started: the verb of the tool, and the folder by
// which it is distinguished from other nodes.
func Args(run string) []string {
	return []string{"olm-webhook-manager-node", "node", run}
}

// IsNode reports whether a process's command line, as in /proc, is that of the node
// whose files are in the folder. A process ID alone may be another's by now.
func IsNode(cmdline []byte, run string) bool {
	return string(cmdline) == strings.Join(Args(run), "\x00")+"\x00"
}

// Open returns the layout of a cluster that has been started in the folder.
func Open(run string) (Layout, error) {
	l := Layout{Run: run}
	bin, err := os.Readlink(l.BinLink())
	l.Bin = bin
	return l, err
}
