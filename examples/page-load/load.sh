# The upload fills the uplink first. Chromium prints the page, into which the page has written its load time.
sleep 5
exec chromium --headless --no-sandbox --single-process --no-zygote --disable-gpu --disable-crash-reporter \
  --user-data-dir=/tmp/profile --dump-dom http://server:8000/
