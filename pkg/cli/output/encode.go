package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Encode returns a text in which every character is visible and stays in place. Control characters, line ends and tabs
// among them, characters that change the direction, invisible ones and bytes that are no UTF-8 are written as in Go: \n,
// \x1b, \u202e. So are blanks except a single U+0020: they could push text into the next row. So are combining marks
// after the first few of one character: they would cover other rows.
func Encode(text string) string {
	if isPlain(text) {
		return text
	}
	var encoded strings.Builder
	var previous rune
	var marks marks
	for i, r := range text {
		tooMany := marks.tooMany(r)
		switch {
		case r == utf8.RuneError:
			encoded.WriteString(replacement(text[i:]))
		case r == ' ' && previous == ' ':
			encoded.WriteString(`\x20`)
		case isHidden(r), tooMany:
			encoded.WriteString(strings.Trim(fmt.Sprintf("%+q", r), "'"))
		default:
			encoded.WriteRune(r)
		}
		previous = r
	}
	return encoded.String()
}

func isPlain(text string) bool {
	special := strings.ContainsFunc(text, func(r rune) bool { return isHidden(r) || r == utf8.RuneError || unicode.Is(unicode.M, r) })
	return !special && !strings.Contains(text, "  ")
}

// maxMarks is how many combining marks stay as they are after one character. Scripts need at most four.
const maxMarks = 4

// marks counts the combining marks after one character.
type marks int

// tooMany reports whether the next character of a text is one combining mark too many.
func (m *marks) tooMany(next rune) bool {
	if *m++; !unicode.Is(unicode.M, next) {
		*m = 0
	}
	return *m > maxMarks
}

// isHidden reports whether a terminal acts on a character, or shows nothing or a blank for it.
func isHidden(r rune) bool { return !unicode.IsGraphic(r) || isBlank(r) }

// isBlank reports whether a character looks like a blank and is none of ASCII.
func isBlank(r rune) bool {
	switch r {
	case ' ':
		return false
	case '\u2800', '\u3164', '\u115f', '\u1160', '\uffa0': // an empty Braille pattern, and Hangul fillers
		return true
	default:
		return unicode.IsSpace(r)
	}
}

// replacement is for a text that begins with the replacement character, or with a byte that is no UTF-8.
func replacement(text string) string {
	if _, size := utf8.DecodeRuneInString(text); size > 1 {
		return string(utf8.RuneError)
	}
	return fmt.Sprintf(`\x%02x`, text[0])
}

// value is an argument of Printf. Its text is encoded for every type and verb.
type value struct{ of any }

func (v value) Format(state fmt.State, verb rune) {
	text := Encode(fmt.Sprintf(fmt.FormatString(unpadded{state}, verb), v.of))
	width, _ := state.Width()
	if state.Flag('-') {
		width = -width
	}
	_, _ = fmt.Fprintf(state, "%*s", width, text)
}

// unpadded leaves the padding out: its blanks are the program's, and not encoded.
type unpadded struct{ fmt.State }

func (unpadded) Width() (int, bool) { return 0, false }

// values makes values of arguments. Numbers stay: their text is plain, and "%*d" needs them.
func values(args []any) []any {
	encoded := make([]any, len(args))
	for i, arg := range args {
		switch arg.(type) {
		case int, int32, int64, float64:
			encoded[i] = arg
		default:
			encoded[i] = value{arg}
		}
	}
	return encoded
}
