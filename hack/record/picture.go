package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// The measures of the picture, in pixels.
const (
	charWidth, lineHeight, margin = 7.25, 17, 14
	fontSize                      = 12
)

// Columns of the terminal; longer lines continue in the next one.
const columns = 150

func picture(text string) []byte {
	lines := wrapped(text)
	var out bytes.Buffer
	width, height := columns*charWidth+2*margin, float64(len(lines)*lineHeight+2*margin)
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="%d">`+"\n", width, height, fontSize)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="#1b1f24"/>`+"\n")
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d" xml:space="preserve" fill="%s" textLength="%.1f">%s</text>`+"\n",
			margin, margin+(i+1)*lineHeight-5, colour(line), float64(len([]rune(line)))*charWidth, escaped(line))
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

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

func colour(line string) string {
	switch {
	case strings.HasPrefix(line, "$ "):
		return "#7ee787"
	case strings.HasPrefix(strings.ToLower(line), "error"):
		return "#ff7b72"
	case strings.HasPrefix(strings.ToLower(line), "warning"):
		return "#e3b341"
	default:
		return "#d0d7de"
	}
}

func escaped(text string) string {
	var out bytes.Buffer
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.String()
}
