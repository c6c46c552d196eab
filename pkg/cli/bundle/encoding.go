package bundle

import (
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Decoded returns a text in UTF-8. A byte order mark declares UTF-16, in which Windows PowerShell 5 writes files, or
// UTF-8; any other text is returned as it is.
func Decoded(text []byte) []byte {
	decoded, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), text)
	if err != nil {
		return text // the parser reports it
	}
	return decoded
}
