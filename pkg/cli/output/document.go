package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// JSON writes a value for programs. Characters that a terminal would act on are written as \u202e, with the same value.
func (w Writer) JSON(v any) error {
	text, err := jsonOf(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w.to, text)
	return err
}

// YAML writes one document. YAML has no way to encode a character outside quotes, so a document
// with characters that a terminal would act on is written as JSON, which is YAML, too.
func (w Writer) YAML(v any) error {
	text, err := jsonOf(v)
	if err != nil {
		return err
	}
	document, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		return err
	}
	if !containsHidden(strings.ReplaceAll(string(document), "\t", "")) {
		text = string(document)
	}
	_, err = io.WriteString(w.to, text)
	return err
}

func jsonOf(v any) (string, error) {
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(withLists(v)); err != nil {
		return "", err
	}
	return escapeJSON(document.String()), nil
}

func escapeJSON(document string) string {
	return encodeHidden(document, func(r rune) (text string) {
		for _, unit := range utf16.Encode([]rune{r}) {
			text += fmt.Sprintf(`\u%04x`, unit)
		}
		return text
	})
}

// HTML writes a document. Characters that hide or reorder text are written as in Go, as in Encode.
func (w Writer) HTML(document string) error {
	_, err := io.WriteString(w.to, EncodeHTML(document))
	return err
}

// EncodeHTML returns a document in which every character is visible and stays in place.
func EncodeHTML(document string) string {
	return encodeHidden(document, func(r rune) string { return strings.Trim(fmt.Sprintf("%+q", r), "'") })
}

// encodeHidden encodes the characters of a document that hide or reorder text, except line ends.
func encodeHidden(document string, encode func(rune) string) string {
	if !containsHidden(document) {
		return document
	}
	var text strings.Builder
	var marks marks
	for _, r := range document {
		if tooMany := marks.tooMany(r); tooMany || hidden(r) {
			text.WriteString(encode(r))
		} else {
			text.WriteRune(r)
		}
	}
	return text.String()
}

// containsHidden reports whether a document has characters that Encode would encode, except line ends and blanks.
func containsHidden(document string) bool {
	var marks marks
	return strings.ContainsFunc(document, func(r rune) bool { return marks.tooMany(r) || hidden(r) })
}

func hidden(r rune) bool { return isHidden(r) && r != '\n' }
