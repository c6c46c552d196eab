package chart

import "unicode"

// letterWidth is that of an average letter.
const letterWidth = 7.2

// letters is how many average letters a width has space for.
func letters(width float64) int { return max(0, int(width/letterWidth)) }

// Clipped returns a text of at most so many letters.
func Clipped(text string, most int) string {
	runes := visible(text)
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// abridged omits the middle of a long text: names differ at their ends, as those of pods do.
func abridged(text string, most int) string {
	runes := visible(text)
	if len(runes) > most {
		return string(runes[:most/2]) + "…" + string(runes[len(runes)-(most-1)/2:])
	}
	return string(runes)
}

// visible replaces each character without a glyph by one with a glyph. The page shows the number of other ones, which
// is longer.
func visible(text string) []rune {
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsGraphic(r) {
			runes[i] = unicode.ReplacementChar
		}
	}
	return runes
}
