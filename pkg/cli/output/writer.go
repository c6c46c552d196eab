// Package output writes what commands print. Names and messages from outside must not move the cursor, hide a text, or
// begin a line of the command's own. Commands write through this package only; the linter forbids all other ways.
package output

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/go-logr/logr"
	"golang.org/x/term"
)

// Writer writes text for people. It is no io.Writer, so that all text is encoded.
type Writer struct{ to io.Writer }

// New returns a Writer that writes to a stream.
func New(to io.Writer) Writer { return Writer{to} }

// IsTerminal reports whether a person watches the text as it is written.
func (w Writer) IsTerminal() bool {
	file, isFile := w.to.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// Printf writes as fmt.Printf does. The format is the program's; the text of every argument is encoded.
func (w Writer) Printf(format string, args ...any) {
	_, _ = fmt.Fprintf(w.to, format, values(args)...)
}

// Lines writes a label and a text. Further lines are indented, so that none looks like a line of the command.
func (w Writer) Lines(label, text string) {
	first, more, _ := strings.Cut(strings.TrimRight(text, "\n"), "\n")
	w.Printf("%s%s\n", label, first)
	if more == "" {
		return
	}
	for line := range strings.SplitSeq(more, "\n") {
		w.Printf("  %s\n", strings.TrimLeft(line, " "))
	}
}

// Counted returns a number with a noun whose plural ends in s.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Table writes columns. Every cell is encoded.
func (w Writer) Table(indent string, header []string, rows [][]string) {
	table := tabwriter.NewWriter(w.to, 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Encode(cell)
		}
		_, _ = fmt.Fprintf(table, "%s%s\n", indent, strings.Join(cells, "\t"))
	}
	_ = table.Flush()
}

// Redraw replaces a line of width bytes (0: a new line) in a terminal, and returns the length of the new one.
func (w Writer) Redraw(width int, line string) int {
	line = Encode(line)
	text := line
	if width > 0 {
		text = fmt.Sprintf("\r%-*s", width, line)
	}
	_, _ = io.WriteString(w.to, text)
	return len(line)
}

// Log returns a logger for what libraries log, such as the warnings of API servers.
func (w Writer) Log() logr.Logger { return logr.New(sink{w}) }

type sink struct{ to Writer }

func (s sink) Init(logr.RuntimeInfo)                {}
func (s sink) Enabled(int) bool                     { return true }
func (s sink) WithValues(...any) logr.LogSink       { return s }
func (s sink) WithName(string) logr.LogSink         { return s }
func (s sink) Info(_ int, message string, _ ...any) { s.to.Printf("%s\n", message) }

func (s sink) Error(err error, message string, _ ...any) { s.to.Printf("%s: %v\n", message, err) }
