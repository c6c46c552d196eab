package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Columns of the terminal; longer lines go on in the next one.
const columns = 150

// cast is the recording in asciicast v2: a line for the header, and one for each piece.
func (s *screen) cast() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"version": 2, "width": columns, "height": len(wrapped(s.text()))}); err != nil {
		return nil, err
	}
	for _, p := range s.pieces {
		if err := encoder.Encode([]any{p.after.Seconds(), "o", strings.ReplaceAll(p.text, "\n", "\r\n")}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// wrapped are the lines of a text as the terminal breaks them.
func wrapped(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		runes := []rune(line)
		for len(runes) > columns {
			lines, runes = append(lines, string(runes[:columns])), runes[columns:]
		}
		lines = append(lines, string(runes))
	}
	return lines
}
