package calls

import (
	"errors"
	"strconv"
	"strings"
)

// parseSample parses a line of the text format of Prometheus: a name, labels, and a value, which a time may follow.
func parseSample(line string) (name string, labels map[string]string, value float64, err error) {
	end := strings.IndexAny(line, "{ ")
	if end < 0 {
		return "", nil, 0, errors.New("it has no value")
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		if labels, rest, err = parseLabels(rest[1:]); err != nil {
			return "", nil, 0, err
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", nil, 0, errors.New("it has no value")
	}
	value, err = strconv.ParseFloat(fields[0], 64)
	return name, labels, value, err
}

// parseLabels parses labels up to their closing brace, and returns what follows.
func parseLabels(text string) (labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	for {
		text = strings.TrimLeft(text, ", ")
		if rest, closed := strings.CutPrefix(text, "}"); closed {
			return labels, rest, nil
		}
		name, quoted, found := strings.Cut(text, "=")
		if !found {
			return nil, "", errors.New("a label has no value")
		}
		prefix, err := strconv.QuotedPrefix(quoted)
		if err != nil {
			return nil, "", err
		}
		value, err := strconv.Unquote(prefix) // The escapes of Prometheus are some of those of Go.
		if err != nil {
			return nil, "", err
		}
		labels[name], text = value, quoted[len(prefix):]
	}
}
