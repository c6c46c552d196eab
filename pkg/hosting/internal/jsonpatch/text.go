package jsonpatch

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// text is a JSON value as it was sent, without space around it. It is valid, because the body was decoded. Quotes and
// brackets show where values end, so members are found without decoding.
type text []byte

func (t text) members() map[string]text {
	if !t.is('{') {
		return nil
	}
	found := map[string]text{}
	for at := t.next(1); t[at] != '}'; {
		end := t.endOfString(at)
		name := t[at:end].unquoted()
		at = t.next(t.next(end) + 1)
		end = t.endOfValue(at)
		found[name] = t[at:end]
		at = t.afterComma(end)
	}
	return found
}

func (t text) elements() []text {
	if !t.is('[') {
		return nil
	}
	found := []text{}
	for at := t.next(1); t[at] != ']'; {
		end := t.endOfValue(at)
		found = append(found, t[at:end])
		at = t.afterComma(end)
	}
	return found
}

func (t text) is(bracket byte) bool { return len(t) > 0 && t[0] == bracket }

func (t text) unquoted() string {
	inside := t[1 : len(t)-1]
	if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside)
	}
	var s string
	if json.Unmarshal(t, &s) != nil {
		return string(inside)
	}
	return s
}

func (t text) next(at int) int {
	for t[at] == ' ' || t[at] == '\t' || t[at] == '\n' || t[at] == '\r' {
		at++
	}
	return at
}

func (t text) afterComma(at int) int {
	at = t.next(at)
	if t[at] == ',' {
		at = t.next(at + 1)
	}
	return at
}

func (t text) endOfString(at int) int {
	for at++; t[at] != '"'; at++ {
		if t[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func (t text) endOfValue(at int) int {
	switch t[at] {
	case '"':
		return t.endOfString(at)
	case '{', '[':
		return t.endOfBrackets(at)
	}
	end := bytes.IndexAny(t[at:], ",]} \t\r\n")
	if end < 0 {
		return len(t)
	}
	return at + end
}

func (t text) endOfBrackets(at int) int {
	for depth := 0; ; {
		switch t[at] {
		case '"':
			at = t.endOfString(at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
}
