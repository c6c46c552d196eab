// Command record runs commands in a shell and keeps what a terminal shows of them: as a
// picture (NAME.svg), and as a recording with its pace (NAME.cast, for asciinema).
//
//	record NAME < SCRIPT
//
// A line of the script that begins with "$ " is a command, one that begins with "> " answers
// a question of the command before it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: record NAME < SCRIPT")
		os.Exit(2)
	}
	if err := record(context.Background(), os.Args[1], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(ctx context.Context, name string, script io.Reader) error {
	text, err := io.ReadAll(script)
	if err != nil {
		return err
	}
	commands, err := parse(string(text))
	if err != nil {
		return err
	}
	s := &screen{began: time.Now()}
	for _, c := range commands {
		if err := s.run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.line, err)
		}
	}
	cast, err := s.cast()
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".cast", cast, 0o644); err != nil {
		return err
	}
	return os.WriteFile(name+".svg", picture(s.text()), 0o644)
}

// command is one line that is typed at the prompt, and what is typed after it.
type command struct{ line, answers string }

func parse(script string) ([]command, error) {
	var all []command
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch typed, isCommand := strings.CutPrefix(line, "$ "); {
		case isCommand:
			all = append(all, command{line: typed})
		case strings.HasPrefix(line, "> ") && len(all) > 0:
			all[len(all)-1].answers += strings.TrimPrefix(line, "> ") + "\n"
		case line != "":
			return nil, fmt.Errorf("%q is neither a command nor an answer", line)
		}
	}
	return all, nil
}

// screen is what a terminal was sent, piece by piece.
type screen struct {
	began  time.Time
	pieces []piece
	// answers are echoed where a question ends, as a terminal does.
	answers string
}

type piece struct {
	after time.Duration
	text  string
}

const question = "[y/N] "

func (s *screen) Write(text []byte) (int, error) {
	shown := string(text)
	if before, after, asks := strings.Cut(shown, question); asks && s.answers != "" {
		answer, rest, _ := strings.Cut(s.answers, "\n")
		shown, s.answers = before+question+answer+"\n"+after, rest
	}
	s.pieces = append(s.pieces, piece{time.Since(s.began), shown})
	return len(text), nil
}

// run shows the prompt and runs the command. That it fails is part of what it shows.
func (s *screen) run(ctx context.Context, c command) error {
	s.pieces = append(s.pieces, piece{time.Since(s.began), "$ " + c.line + "\n"})
	s.answers = c.answers
	cmd := exec.CommandContext(ctx, "bash", "-c", c.line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.answers), s, s
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	return nil
}

func (s *screen) text() string {
	var all bytes.Buffer
	for _, p := range s.pieces {
		all.WriteString(p.text)
	}
	return all.String()
}
