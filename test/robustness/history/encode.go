package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Encode writes a history as one JSON object for each line: the clients, then the events.
func Encode(to io.Writer, h History) error {
	out := bufio.NewWriter(to)
	lines := json.NewEncoder(out)
	if err := lines.Encode(History{Clients: h.Clients, Probes: h.Probes}); err != nil {
		return err
	}
	for _, e := range h.Events {
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Decode reads what Encode wrote.
func Decode(from io.Reader) (History, error) {
	lines := json.NewDecoder(from)
	var h History
	if err := lines.Decode(&h); err != nil {
		return h, fmt.Errorf("the clients: %w", err)
	}
	for {
		var e Event
		switch err := lines.Decode(&e); err {
		case nil:
			h.Events = append(h.Events, e)
		case io.EOF:
			return h, nil
		default:
			return h, fmt.Errorf("event %d: %w", len(h.Events), err)
		}
	}
}
