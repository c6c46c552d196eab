package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// maxColors is how many colors a PNG with an index can have.
const maxColors = 256

// indexed returns a PNG with an index of few colors: a page has few, and the file is much smaller.
func indexed(file []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	counts := map[color.Color]int{}
	bounds := full.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[full.At(x, y)]++
		}
	}
	small := image.NewPaletted(bounds, paletteOf(counts))
	indices := map[color.Color]uint8{}
	for c := range counts {
		indices[c] = uint8(small.Palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, indices[full.At(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

// paletteOf returns the most frequent colors, without the colors that are close to a more frequent one.
func paletteOf(counts map[color.Color]int) color.Palette {
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(distance(b, color.Black), distance(a, color.Black)))
	})
	for least := 8; ; least += 4 {
		var chosen color.Palette
		for _, c := range frequent {
			if len(chosen) == 0 || distance(c, chosen.Convert(c)) >= least {
				chosen = append(chosen, c)
			}
		}
		if len(chosen) <= maxColors {
			return chosen
		}
	}
}

// distance is the sum of the differences of all parts of two colors, of which each has 256 values.
func distance(a, b color.Color) int {
	aRed, aGreen, aBlue, _ := a.RGBA()
	bRed, bGreen, bBlue, _ := b.RGBA()
	sum := 0
	for _, difference := range []int{int(aRed) - int(bRed), int(aGreen) - int(bGreen), int(aBlue) - int(bBlue)} {
		sum += max(difference, -difference) >> 8
	}
	return sum
}
