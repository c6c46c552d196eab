package output

import (
	"os"
	"strings"
)

// ShellWord returns a text, such as the name of a directory, as one word of a command to copy. POSIX shells and
// PowerShell read single quotes.
func ShellWord(text string) string {
	if text != "" && strings.IndexFunc(text, isSpecial) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", escapedQuote) + "'"
}

const escapedQuote = `'\''`

// isSpecial reports whether a shell can read a character as something else than a part of a word.
func isSpecial(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-_./:@%+=,", r), r == os.PathSeparator:
		return false
	default:
		return true
	}
}
