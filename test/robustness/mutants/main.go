// Command mutants puts one deliberate fault after the other into the code of the manager, and requires that the campaign (package
// campaign) finds each within a number of runs. The tree is not changed: the faults are an overlay of the Go command.
//
//	go run ./mutants -runs 30 -seed 1
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	root = flag.String("root", "../..", "the root of the repository")
	runs = flag.Int("runs", 30, "in how many runs a mutant has to be found")
	seed = flag.Uint64("seed", 1, "the first seed")
	only = flag.String("only", "", "only the mutants whose name contains this text")
)

func main() {
	flag.Parse()
	survived, err := all()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if survived > 0 {
		os.Exit(1)
	}
}

// all tries all mutants, and returns how many the campaign did not find.
func all() (survived int, err error) {
	tried := 0
	for _, m := range mutants {
		if !strings.Contains(m.name, *only) {
			continue
		}
		found, err := try(m)
		if err != nil {
			return survived, fmt.Errorf("mutant %q: %w", m.name, err)
		}
		if tried++; found == "" {
			survived++
			found = fmt.Sprintf("NOT FOUND in %d runs", *runs)
		}
		fmt.Printf("%-75s %s\n", m.name, found)
	}
	fmt.Printf("%d of %d mutants found, seeds from %d on\n", tried-survived, tried, *seed)
	return survived, nil
}

// try runs the campaign with a mutant. It returns by what it was found; empty if it was not.
func try(m mutant) (found string, err error) {
	directory, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(directory)
	overlay, err := write(m, directory)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), "go", "test", "-vet=off", "-count=1", "-timeout=10m", "-overlay="+overlay, "./campaign", "-run", "^TestCampaign$",
		"-runs", fmt.Sprint(*runs), "-seed", fmt.Sprint(*seed), "-first")
	output, err := cmd.CombinedOutput()
	if err == nil {
		return "", nil
	}
	return findings(string(output))
}

// write writes the mutated file and the overlay into a directory.
func write(m mutant, directory string) (overlay string, err error) {
	path, err := filepath.Abs(filepath.Join(*root, m.file))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("the text to replace occurs %d times in %s: correct table.go", n, m.file)
	}
	mutated := filepath.Join(directory, filepath.Base(m.file))
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(directory, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

var (
	violation = regexp.MustCompile(`\b(I\d+) at event`)
	number    = regexp.MustCompile(`(?m)^(\d+) runs, 1 with a violation`)
)

// findings summarizes the output of a campaign that failed.
func findings(output string) (string, error) {
	var all []string
	for _, match := range violation.FindAllStringSubmatch(output, -1) {
		all = append(all, match[1])
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if strings.Contains(output, "the run did not come to its end") {
		all = append(all, "no end")
	}
	if strings.Contains(output, "panic: test timed out") {
		all = append(all, "time limit")
	}
	if len(all) == 0 {
		return "", fmt.Errorf("the campaign failed for another reason:\n%s", output[max(0, len(output)-2000):])
	}
	text := strings.Join(all, ", ")
	if n := number.FindStringSubmatch(output); n != nil {
		text += " in run " + n[1]
	}
	return text, nil
}
