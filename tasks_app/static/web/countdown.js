// Counting down on a page, in words.

const STEP = 250;

// Calls `tell` with the whole seconds that are left, and `done` at the end. Returns what stops it.
export function countDown(seconds, tell, done = () => {}) {
  const ends = performance.now() + seconds * 1000;
  const step = () => {
    const left = Math.ceil((ends - performance.now()) / 1000);
    if (left > 0) {
      tell(left);
      return;
    }
    clearInterval(timer);
    done();
  };
  const timer = setInterval(step, STEP);
  step();
  return () => clearInterval(timer);
}
