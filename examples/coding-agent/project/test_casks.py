import unittest

from casks import ullage


class TestUllage(unittest.TestCase):
    def test_a_cask_filled_to_nine_tenths_lacks_a_tenth(self) -> None:
        self.assertAlmostEqual(ullage(225, 0.9), 22.5)


if __name__ == "__main__":
    unittest.main()
