// Command record runs commands in a shell and draws what a terminal shows of them.
//
//	record FILE.svg < SCRIPT
//
// A line of the script that begins with "$ " is a command, one that begins with "> " answers
// a question of the command before it. A command has to end with exit code 0, or with the one
// that a line after it says, which begins with "! ".
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: record FILE.svg < SCRIPT")
		os.Exit(2)
	}
	if err := record(context.Background(), os.Args[1], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(ctx context.Context, file string, script io.Reader) error {
	text, err := io.ReadAll(script)
	if err != nil {
		return err
	}
	commands, err := parse(string(text))
	if err != nil {
		return err
	}
	s := &screen{}
	for _, c := range commands {
		if err := s.run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.line, err)
		}
	}
	return os.WriteFile(file, picture(s.text.String()), 0o644) //nolint:gosec // G306: a picture of the documentation
}

// command is one line that is typed at the prompt, what is typed after it, and how it ends.
type command struct {
	line, answers string
	exit          int
}

func parse(script string) ([]command, error) {
	var all []command
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch typed, isCommand := strings.CutPrefix(line, "$ "); {
		case isCommand:
			all = append(all, command{line: typed})
		case strings.HasPrefix(line, "> ") && len(all) > 0:
			all[len(all)-1].answers += strings.TrimPrefix(line, "> ") + "\n"
		case strings.HasPrefix(line, "! ") && len(all) > 0:
			exit, err := strconv.Atoi(strings.TrimPrefix(line, "! "))
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			all[len(all)-1].exit = exit
		case line != "":
			return nil, fmt.Errorf("%q is neither a command, nor an answer, nor an exit code", line)
		}
	}
	return all, nil
}

type screen struct {
	text bytes.Buffer
	// answers are echoed where a question ends, as a terminal does.
	answers string
}

const question = "[y/N] "

func (s *screen) Write(text []byte) (int, error) {
	shown := string(text)
	if before, after, asks := strings.Cut(shown, question); asks && s.answers != "" {
		answer, rest, _ := strings.Cut(s.answers, "\n")
		shown, s.answers = before+question+answer+"\n"+after, rest
	}
	s.text.WriteString(shown)
	return len(text), nil
}

func (s *screen) run(ctx context.Context, c command) error {
	s.text.WriteString("$ " + c.line + "\n")
	s.answers = c.answers
	cmd := exec.CommandContext(ctx, "bash", "-c", c.line) //nolint:gosec // G204: it runs the commands that it records
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.answers), s, s
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	if exit := cmd.ProcessState.ExitCode(); exit != c.exit {
		return fmt.Errorf("it ends with exit code %d, want %d:\n%s", exit, c.exit, s.text.String())
	}
	return nil
}
