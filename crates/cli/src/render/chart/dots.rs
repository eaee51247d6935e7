//! A canvas of dots, eight to a character.

/// Dots, two columns and four rows of them to each character of Braille.
#[derive(Debug)]
pub(super) struct Dots {
    columns: usize,
    cells: Vec<u8>,
}

impl Dots {
    /// An empty canvas of so many characters.
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, cells: vec![0; columns * rows] }
    }

    /// Sets the dot at `x` from the left and `y` from the top; one that is off the canvas is dropped.
    pub(super) fn set(&mut self, x: usize, y: usize) {
        /// The bits of a Braille pattern, by row and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if x / 2 >= self.columns {
            return;
        }
        let bit = BITS.get(y % 4).and_then(|row| row.get(x % 2)).copied().unwrap_or_default();
        if let Some(cell) = self.cells.get_mut(y / 4 * self.columns + x / 2) {
            *cell |= bit;
        }
    }

    /// The canvas, a line of characters each.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let glyph = |cell: &u8| {
            if *cell == 0 { ' ' } else { char::from_u32(0x2800 + u32::from(*cell)).unwrap_or(' ') }
        };
        self.cells.chunks(self.columns.max(1)).map(move |row| row.iter().map(glyph).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Dots;

    #[test]
    fn a_dot_is_where_it_was_set() {
        let mut dots = Dots::new(2, 1);
        dots.set(0, 0);
        dots.set(3, 3);
        dots.set(4, 0);
        dots.set(0, 4);
        assert_eq!(dots.lines().collect::<Vec<_>>(), ["⠁⢀"]);
    }
}
